# Filled by the install step.
