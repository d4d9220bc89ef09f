"""What the scripts share that hold foretell against a measurement made here."""

import argparse
import statistics


def parser(description):
    """A parser with the flags that say what is run, and how."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawTextHelpFormatter)
    made.add_argument("--device", default="cpu", help="where it is measured")
    made.add_argument("--batch", default="1,8")
    made.add_argument("--mode", default="inference",
                      choices=["inference", "training"])
    made.add_argument("--precision", default="fp32")
    return made


def print_summary(differences):
    """Prints a line per quantity of {quantity: absolute differences in %}."""
    for name, shares in sorted(differences.items()):
        print(f"\n{name}: {len(shares)} rows, median of the absolute "
              f"differences {statistics.median(shares):.1f} %, "
              f"largest {max(shares):.1f} %")
