"""Objects of remote stores, such as S3: found by URL, read in ranges of bytes, and kept on the local disk."""
