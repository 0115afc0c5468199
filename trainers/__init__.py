"""A thin GRPO trainer for any registered environment: ``mint-grpo ENV`` or ``train(config)``."""
