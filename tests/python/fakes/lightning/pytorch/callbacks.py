"""As much of Lightning as the callback needs."""


class Callback:
    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        pass
