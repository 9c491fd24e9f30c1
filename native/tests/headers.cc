// The precompiled headers of the native tests belong to this file.
