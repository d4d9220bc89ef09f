"""Stands for the real package, which is larger than all of this project."""
