"""The default model, as a package, so that an installed `fastcam demo` finds it."""
