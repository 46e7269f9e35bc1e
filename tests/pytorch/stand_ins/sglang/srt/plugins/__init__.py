GENERAL_PLUGINS_GROUP = "sglang.srt.plugins"
