# Filled by packaging
