/**
 * Long strings in a chat that a model can read in pages and pass to tools by name, as `{{var:NAME}}`. A variable never changes
 * its value.
 */
export interface Variables {
  /** Saves a string and returns the name of its variable. If this part of this call is already saved, returns the existing name. */
  save(value: string, source: { callId: string; tool: string; part: string }): Promise<string>;
  list(): Promise<readonly { name: string; tool: string; part: string; length: number }[]>;
  read(name: string): Promise<string | undefined>;
}

/** Tools for reading variables. Their arguments are names, and their results are not saved as variables again. */
export const variableToolNames = { list: "list_variables", read: "read_variable" } as const;
