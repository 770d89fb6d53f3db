import { isObject, type JsonObject } from "@deltawire/wire";
import type { OfferedTool, CallPlan, PlannedCall } from "./offered-tools.ts";

/** Plans calls of a shell tool for prompts such as "run `ls`", "run `ls` and `pwd`" or "run: ls -l". */
export function planShellCalls(prompt: string, tools: readonly OfferedTool[]): CallPlan {
  const commands = parseCommands(prompt);
  const shell = commands.length > 0 ? findShellTool(tools) : undefined;
  if (shell === undefined) return { calls: [], text: "" };
  const labels = commands.map((command) =>
    command.includes("`") ? "a command" : `\`${command}\``,
  );
  return {
    calls: commands.map((command) => buildShellCall(shell, command)),
    text: `Running ${labels.join(" and ")}.`,
  };
}

function parseCommands(prompt: string): string[] {
  const verb = String.raw`(?:\b(?:run|execute)\b|运行|执行)`;
  const filler = String.raw`(?:\s*\b(?:the|these|this|two|both|a|following|shell|bash|commands?|in|parallel)\b)*`;
  const span = "`[^`]+`";
  const separator = String.raw`(?:[\s,]*(?:and|then|和|&)?\s*)`;
  const spans = new RegExp(
    `${verb}${filler}\\s*[:\uff1a]?\\s*(${span}(?:${separator}${span})*)`,
    "gi",
  );
  const quotedCommands = [...prompt.matchAll(spans)].flatMap(([, run = ""]) =>
    [...run.matchAll(/`([^`]+)`/g)].map(([, command = ""]) => command),
  );
  if (quotedCommands.length > 0) return quotedCommands;
  const line = new RegExp(`${verb}\\s*[:\uff1a]\\s*(\\S.*)`, "i").exec(prompt)?.[1];
  return line === undefined ? [] : [line.replace(/\s+in \d+ steps\b.*$/i, "").trim()];
}

export function findShellTool(tools: readonly OfferedTool[]): OfferedTool | undefined {
  const shell = /shell|exec|command|bash|terminal/i;
  const candidates = tools.filter((tool) => tool.kind === "custom" || findCommandParameter(tool));
  return (
    candidates.find(({ name }) => shell.test(name)) ??
    candidates.find(({ kind, description }) => kind === "function" && shell.test(description))
  );
}

export function buildShellCall(tool: OfferedTool, command: string): PlannedCall {
  const { name } = tool;
  const parameter = findCommandParameter(tool);
  if (parameter === undefined) return { kind: "custom", name, input: command };
  const { property, schema } = parameter;
  const isList = schema["type"] === "array";
  // `commands` is a list of command lines; `command` as a list is a program and its arguments.
  const value = !isList ? command : property === "commands" ? [command] : ["bash", "-lc", command];
  return { kind: "function", name, arguments: { [property]: value } };
}

function findCommandParameter({ parameters }: OfferedTool) {
  const { properties } = parameters;
  if (!isObject(properties)) return undefined;
  for (const property of ["cmd", "command", "commands", "script"]) {
    const schema: JsonObject[string] = properties[property];
    if (isObject(schema)) return { property, schema };
  }
  return undefined;
}
