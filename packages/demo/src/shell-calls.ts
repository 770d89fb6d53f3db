import { isObject, type JsonObject } from "@deltawire/wire";
import type { OfferedTool, Plan, PlannedCall } from "./offered-tools.ts";

/** "run `ls`", "run `ls` and `pwd`", "run: ls -l": a call of whichever tool looks like a shell. */
export function commandCalls(words: string, tools: readonly OfferedTool[]): Plan {
  const commands = commandsIn(words);
  const shell = commands.length > 0 ? shellAmong(tools) : undefined;
  if (shell === undefined) return { calls: [], says: "" };
  const said = commands.map((command) => (command.includes("`") ? "a command" : `\`${command}\``));
  return {
    calls: commands.map((command) => shellCall(shell, command)),
    says: `I run ${said.join(" and ")}.`,
  };
}

function commandsIn(words: string): string[] {
  const verb = String.raw`(?:\b(?:run|execute)\b|运行|执行)`;
  const filler = String.raw`(?:\s*\b(?:the|these|this|two|both|a|following|shell|bash|commands?|in|parallel)\b)*`;
  const span = "`[^`]+`";
  const joint = String.raw`(?:[\s,]*(?:and|then|和|&)?\s*)`;
  const spans = new RegExp(`${verb}${filler}\\s*[:\uff1a]?\\s*(${span}(?:${joint}${span})*)`, "gi");
  const quoted = [...words.matchAll(spans)].flatMap(([, run = ""]) =>
    [...run.matchAll(/`([^`]+)`/g)].map(([, command = ""]) => command),
  );
  if (quoted.length > 0) return quoted;
  const line = new RegExp(`${verb}\\s*[:\uff1a]\\s*(\\S.*)`, "i").exec(words)?.[1];
  return line === undefined ? [] : [line.replace(/\s+in \d+ steps\b.*$/i, "").trim()];
}

export function shellAmong(tools: readonly OfferedTool[]): OfferedTool | undefined {
  const shell = /shell|exec|command|bash|terminal/i;
  const takers = tools.filter((tool) => tool.kind === "custom" || commandParameter(tool));
  return (
    takers.find(({ name }) => shell.test(name)) ??
    takers.find(({ kind, description }) => kind === "function" && shell.test(description))
  );
}

export function shellCall(tool: OfferedTool, command: string): PlannedCall {
  const { name } = tool;
  const parameter = commandParameter(tool);
  if (parameter === undefined) return { kind: "custom", name, input: command };
  const { property, schema } = parameter;
  const list = schema["type"] === "array";
  // `commands` is a list of lines; `command` as a list is a program and its arguments.
  const value = !list ? command : property === "commands" ? [command] : ["bash", "-lc", command];
  return { kind: "function", name, arguments: { [property]: value } };
}

function commandParameter({ parameters }: OfferedTool) {
  const { properties } = parameters;
  if (!isObject(properties)) return undefined;
  for (const property of ["cmd", "command", "commands", "script"]) {
    const schema: JsonObject[string] = properties[property];
    if (isObject(schema)) return { property, schema };
  }
  return undefined;
}
