"""The models of an instance and the engines that serve them: declared, discovered, verified, switched and drained."""
