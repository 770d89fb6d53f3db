import type { JsonObject } from "../json.ts";

/** A tool whose schema Anthropic's models know, and which the client runs. */
export interface BuiltInMessageTool {
  description: string;
  parameters: JsonObject;
}

/** Returns the published schema of a tool type such as `bash_20250124`; undefined for tools that a server runs. */
export function findBuiltInTool(type: string): BuiltInMessageTool | undefined {
  const family = type.replace(/_\d{8}$/, "");
  return Object.hasOwn(builtInTools, family) ? builtInTools[family] : undefined;
}

const text = (description: string): JsonObject => ({ type: "string", description });

const builtInTools: Record<string, BuiltInMessageTool> = {
  bash: {
    description: "Runs a command in a persistent shell session and returns its output.",
    parameters: {
      type: "object",
      properties: {
        command: text("The command to run."),
        restart: { type: "boolean", description: "True to restart the session." },
      },
    },
  },
  text_editor: {
    description: "Views, creates and edits text files.",
    parameters: {
      type: "object",
      properties: {
        command: { type: "string", enum: ["view", "create", "str_replace", "insert"] },
        path: text("Absolute path of the file or folder."),
        file_text: text("For create: the content of the file."),
        old_str: text("For str_replace: the text to replace, which occurs once."),
        new_str: text("For str_replace: the new text. For insert: the text to insert."),
        insert_line: { type: "integer", description: "For insert: the line before the text." },
        insert_text: text("For insert: the text to insert."),
        view_range: {
          type: "array",
          items: { type: "integer" },
          description: "For view: first and last line; -1 is the end.",
        },
      },
      required: ["command", "path"],
    },
  },
  memory: {
    description: "Reads and writes files below /memories, which persist between conversations.",
    parameters: {
      type: "object",
      properties: {
        command: {
          type: "string",
          enum: ["view", "create", "str_replace", "insert", "delete", "rename"],
        },
        path: text("Path below /memories."),
        file_text: text("For create: the content of the file."),
        old_str: text("For str_replace: the text to replace."),
        new_str: text("For str_replace: the new text."),
        insert_line: { type: "integer", description: "For insert: the line before the text." },
        insert_text: text("For insert: the text to insert."),
        old_path: text("For rename: the present path."),
        new_path: text("For rename: the new path."),
        view_range: { type: "array", items: { type: "integer" } },
      },
      required: ["command"],
    },
  },
  computer: {
    description: "Controls mouse and keyboard of a computer, and takes screenshots.",
    parameters: {
      type: "object",
      properties: {
        action: text("Such as screenshot, left_click, type, key, scroll, mouse_move or wait."),
        coordinate: { type: "array", items: { type: "integer" }, description: "Position x, y." },
        start_coordinate: { type: "array", items: { type: "integer" } },
        text: text("The text to type, or the keys to press."),
        scroll_direction: { type: "string", enum: ["up", "down", "left", "right"] },
        scroll_amount: { type: "integer" },
        duration: { type: "number", description: "In seconds." },
      },
      required: ["action"],
    },
  },
};
