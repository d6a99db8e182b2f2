"""The one codec: values of registered types to trees and bytes, and back."""
