UPDATE sample SET time_us = 0
