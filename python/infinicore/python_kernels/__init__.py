"""Kernels of users that serve operators: `infinicore.library` is their public interface."""
