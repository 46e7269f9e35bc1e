UPDATE sample SET time_us = -1
