"""Publications over an overlay: counted in bulk on kernels, or run message by message under virtual time."""
