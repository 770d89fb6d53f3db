import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AgentCommand, AgentPlace } from "../agent.ts";
import type { Wire } from "../wires.ts";

/** What a program of this folder receives as its argument: an agent that is built with a library. */
export interface LibraryAgentInput extends AgentPlace {
  wire: Wire;
  prompt: string;
  isResumed: boolean;
  /** A file whose location decides which version of the library is imported. */
  requireFrom: string;
  library: string;
}

export function buildLibraryCommand(program: string, input: LibraryAgentInput): AgentCommand {
  return {
    program: process.execPath,
    commandArguments: [join(import.meta.dirname, program), JSON.stringify(input)],
  };
}

/** The only tool of these agents. */
export const bashTool = {
  name: "bash",
  description: "Runs a command in bash.",
  parameters: {
    type: "object",
    properties: { command: { type: "string" } },
    required: ["command"],
  },
} as const;

export function runBash(command: string, cwd: string): Promise<string> {
  return new Promise((resolve) => {
    execFile("bash", ["-c", command], { cwd }, (error, stdout, stderr) =>
      resolve(error === null ? stdout : `${error.message}\n${stderr}`),
    );
  });
}

/** Reads and writes the conversation of an agent as JSON. */
export function conversationFile({ home }: AgentPlace) {
  const file = join(home, "conversation.json");
  return {
    read: async (): Promise<unknown> => JSON.parse(await readFile(file, "utf8")),
    write: (conversation: unknown) => writeFile(file, JSON.stringify(conversation)),
  };
}
