"""The magics, in an IPython shell."""

import unittest

import foretell
from IPython.core.interactiveshell import InteractiveShell


class Magics(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.shell = InteractiveShell()
        cls.shell.run_line_magic("load_ext", "foretell")

    def test_a_line_names_a_model_and_flags(self):
        answer = self.shell.run_line_magic("foretell",
                                           "zoo:resnet18 --batch 8 --mode training")
        self.assertEqual((answer.model, answer.batch, answer.mode),
                         ("zoo:resnet18", 8, "training"))
        html = self.shell.display_formatter.format(answer)[0]["text/html"]
        self.assertIn("<td>memory</td>", html)

    def test_a_cell_ends_with_a_model_and_its_inputs(self):
        answer = self.shell.run_cell_magic(
            "foretell", "--device=rtx-4090 --grad",
            "import torch\nlayer = torch.nn.Linear(4, 2)\n"
            "layer, torch.zeros(3, 4)\n")
        self.assertEqual((answer.model, answer.batch, answer.device),
                         ("Linear", 3, "rtx-4090"))
        self.assertTrue(answer.grad_mode)
        self.assertIn("layer", self.shell.user_ns)

    def test_a_line_may_name_a_variable(self):
        self.shell.user_ns["name"] = "zoo:vgg11"
        answer = self.shell.run_line_magic("foretell", "name --batch 1")
        self.assertEqual(answer.model, "zoo:vgg11")

    def test_say_what_they_need(self):
        for line, cell in (("--batch 1", None), ("", "x = 1\n"), ("", "")):
            with self.subTest(line=line, cell=cell):
                with self.assertRaises(foretell.Error):
                    self.shell.find_line_magic("foretell")(line, cell)


if __name__ == "__main__":
    unittest.main()
