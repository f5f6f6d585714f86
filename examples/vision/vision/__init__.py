# SPDX-License-Identifier: Apache-2.0
"""A Flower app with PyTorch: it reads handwritten digits."""
