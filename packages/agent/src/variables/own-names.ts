/** The tools by which a model looks at variables: what they are given are names, and what they give has one. */
export const variableTools = { list: "list_variables", read: "read_variable" } as const;
