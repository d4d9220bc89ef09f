"""Stands for the real package, whose layers need a GPU to be packed."""
