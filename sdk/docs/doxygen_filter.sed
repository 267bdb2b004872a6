# Shows the headers' comments to Doxygen, which takes only marked ones: that at the top is the file's, one behind a
# declaration belongs to it, every other one to the next declaration.
1s|^// |/// @file\n/// |
1s|^/\* |/** @file\n * |
s|^\( *\)// |\1/// |
s|^\( *\)/\* |\1/** |
s|\([;,{)]\) *// |\1  ///< |
s|\([;,{)0-9u]\) */\* |\1 /**< |
# Tags of threads and states, and placeholders, are text and not markup.
s|\[\([a-z]*-[a-z-]*\)\]|(\1)|g
# So are characters that Doxygen would take for commands, tags and links.
/\/\/\//{
s|\\|\\\\|g
:again
s|\(///.*\)<\([A-Za-z/]\)|\1\&lt;\2|
s|\(///.*[^\\]\)\([#@]\)\([A-Za-z]\)|\1\\\2\3|
t again
s|\\@file|@file|
}
