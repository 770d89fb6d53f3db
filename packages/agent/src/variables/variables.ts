/**
 * Long values of a chat that a model can read in pages and pass on by name, as `{{var:NAME}}`. They never change: a
 * name stands for one text.
 */
export interface Variables {
  /** Its name. What the same call has kept of the same part stays, under the name that it has. */
  keep(value: string, from: { callId: string; tool: string; part: string }): Promise<string>;
  list(): Promise<readonly { name: string; tool: string; part: string; length: number }[]>;
  read(name: string): Promise<string | undefined>;
}

/** The tools by which a model looks at variables: what they are given are names, and what they give has one. */
export const variableTools = { list: "list_variables", read: "read_variable" } as const;
