"""As much of Hugging Face's transformers as the callback needs."""


class TrainerCallback:
    def on_train_begin(self, args, state, control, **others):
        pass

    def on_step_begin(self, args, state, control, **others):
        pass
