"""The functions of the package, by family. All of them are names of `infinicore` itself, and most
are methods of `Tensor` too."""
