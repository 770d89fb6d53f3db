import { findAllowlistEntryProblem } from "@deltawire/agent/basics";
import { resolveConfigPath, type ConfigFileContext } from "./referenced-files.ts";
import type { ShellConfig, ToolPolicies, ToolsConfig } from "./config.ts";
import { decodeSection, expectTable } from "./decode-section.ts";
import { isTomlTable, type DecodeContext, type TomlTable } from "./decode-value.ts";
import { didYouMean } from "@deltawire/tasks";
import { formatKeyPath } from "./config-problems.ts";
import { isVariableName } from "./secret.ts";

/** The tool groups that need no MCP server. */
export const builtInToolGroups = ["files", "shell", "web", "time", "agents"] as const;

export interface DecodedTools {
  readonly groups: ToolsConfig;
  /** Groups that are undefined because of errors, which are already reported. */
  readonly invalidGroups: ReadonlySet<string>;
}

/** Decodes `[tools.*]`: the built-in tool groups. */
export function decodeTools(
  table: unknown,
  fileContext: ConfigFileContext,
  context: DecodeContext,
): DecodedTools {
  const tables = expectTable(table, ["tools"], context.problems);
  checkGroupNames(tables, context);
  const files = decodeSection("tools.files", tables["files"], ["tools", "files"], context);
  const web = decodeSection("tools.web", tables["web"], ["tools", "web"], context);
  const time = decodeSection("tools.time", tables["time"], ["tools", "time"], context);
  const agents = decodeSection("tools.agents", tables["agents"], ["tools", "agents"], context);
  const folder = files.folder && resolveConfigPath(fileContext, files.folder);
  const shell = decodeShell(tables["shell"], folder, fileContext, context);
  const invalidGroups = new Set<string>();
  if (tables["files"] !== undefined && folder === undefined)
    invalidGroups.add("files").add("shell");
  if (shell === undefined && hasFolder(tables["shell"])) invalidGroups.add("shell");
  return {
    groups: {
      files: folder ? { folder, readOnly: files.read_only, ...pickPolicies(files) } : undefined,
      shell,
      web: {
        maxBytes: Math.floor(web.max_kb * 1024),
        timeoutMs: web.timeout_seconds * 1000,
        ...pickPolicies(web),
      },
      time: pickPolicies(time),
      agents: { approval: agents.approval, resultApproval: agents.result_approval },
    },
    invalidGroups,
  };
}

function checkGroupNames(tables: TomlTable, { problems }: DecodeContext): void {
  const knownNames: readonly string[] = builtInToolGroups;
  for (const name of Object.keys(tables)) {
    if (knownNames.includes(name)) continue;
    const suggestion = didYouMean(name, knownNames) || `; known groups: ${knownNames.join(", ")}`;
    problems.error(
      ["tools", name],
      `unknown tool group${suggestion}; for an MCP server write [${formatKeyPath(["mcp", name])}]`,
    );
  }
}

function decodeShell(
  table: unknown,
  filesFolder: string | undefined,
  fileContext: ConfigFileContext,
  context: DecodeContext,
): ShellConfig | undefined {
  const { problems } = context;
  const path = ["tools", "shell"];
  const isTooPermissive =
    isTomlTable(table) && ["auto", "ask_once", "ask once"].includes(String(table["approval"]));
  if (isTooPermissive)
    problems.error(
      [...path, "approval"],
      'would run all commands without approval; list those that need none, such as allow = ["git status"]',
    );
  const checkedTable = isTooPermissive ? { ...table, approval: undefined } : table;
  const values = decodeSection("tools.shell", checkedTable, path, context);
  values.allow.forEach((command, index) => {
    const problem = findAllowlistEntryProblem(command);
    if (problem !== undefined) problems.error([...path, "allow", index], problem);
  });
  values.env.forEach((name, index) => {
    if (!isVariableName(name))
      problems.error(
        [...path, "env", index],
        "must be the name of an environment variable, without $ and value",
      );
  });
  const folder =
    values.folder === undefined ? filesFolder : resolveConfigPath(fileContext, values.folder);
  if (folder === undefined) return undefined;
  const { allow, env, timeout_seconds: seconds } = values;
  return { folder, allow, timeoutMs: seconds * 1000, env, ...pickPolicies(values) };
}

function hasFolder(table: unknown): boolean {
  return isTomlTable(table) && table["folder"] !== undefined;
}

export function pickPolicies(values: {
  approval: ToolPolicies["approval"];
  result_approval: ToolPolicies["resultApproval"];
  unmask: boolean;
}): ToolPolicies {
  const { approval, result_approval: resultApproval, unmask } = values;
  return { approval, resultApproval, unmask };
}
