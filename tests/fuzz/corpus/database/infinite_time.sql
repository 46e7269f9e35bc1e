UPDATE sample SET time_us = 9e999
