"""User-written kernels that implement operators: `infinicore.library` is the public interface."""
