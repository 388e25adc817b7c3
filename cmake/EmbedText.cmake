# cmake -DOUTPUT=file.c -DNAME=symbol -DSOURCES=a,b,... -P EmbedText.cmake
# Writes a C file in which `symbol` is the lines of the files, one string each, with an empty one after each file and NULL at the end.
string(REPLACE "," ";" sources "${SOURCES}")
set(text "")
foreach(source IN LISTS sources)
    file(READ ${source} content)
    string(REPLACE "\\" "\\\\" content "${content}")
    string(REPLACE "\"" "\\\"" content "${content}")
    string(REPLACE "\n" "\",\n    \"" content "${content}")
    string(APPEND text "    \"${content}\",\n")
endforeach()
file(WRITE ${OUTPUT} "extern const char* const ${NAME}[];\nconst char* const ${NAME}[] = {\n${text}    0,\n};\n")
