import { allowEntryProblem } from "@deltawire/agent";
import { pathFrom, type Beside } from "./beside.ts";
import type { ShellConfig, ToolPolicies, ToolsConfig } from "./config.ts";
import { decodeSection, tableOf } from "./decode.ts";
import { isTable, type Reading, type Table } from "./decode-value.ts";
import { didYouMean } from "@deltawire/tasks";
import { pathText } from "./problems.ts";
import { isVariableName } from "./secret.ts";

/** The tool groups that need no server. */
export const builtInGroups = ["files", "shell", "web", "time", "agents"] as const;

export interface ReadTools {
  readonly groups: ToolsConfig;
  /** Groups that cannot be used for something that has been said. */
  readonly refused: ReadonlySet<string>;
}

/** `[tools.*]`: the built-in tool groups. */
export function readTools(table: unknown, beside: Beside, reading: Reading): ReadTools {
  const named = tableOf(table, ["tools"], reading.problems);
  checkGroups(named, reading);
  const files = decodeSection("tools.files", named["files"], ["tools", "files"], reading);
  const web = decodeSection("tools.web", named["web"], ["tools", "web"], reading);
  const time = decodeSection("tools.time", named["time"], ["tools", "time"], reading);
  const agents = decodeSection("tools.agents", named["agents"], ["tools", "agents"], reading);
  const folder = files.folder && pathFrom(beside, files.folder);
  const shell = readShell(named["shell"], folder, beside, reading);
  const refused = new Set<string>();
  if (named["files"] !== undefined && folder === undefined) refused.add("files").add("shell");
  if (hasFolder(named["shell"])) refused.add("shell");
  return {
    groups: {
      files: folder ? { folder, readOnly: files.read_only, ...policiesOf(files) } : undefined,
      shell,
      web: {
        maxBytes: Math.floor(web.max_kb * 1024),
        timeoutMs: web.timeout_seconds * 1000,
        ...policiesOf(web),
      },
      time: policiesOf(time),
      agents: { approval: agents.approval, results: agents.results },
    },
    refused,
  };
}

function checkGroups(named: Table, { problems }: Reading): void {
  const known: readonly string[] = builtInGroups;
  for (const name of Object.keys(named)) {
    if (known.includes(name)) continue;
    const near = didYouMean(name, known) || ` known are ${known.join(", ")}`;
    problems.error(
      ["tools", name],
      `is no built-in tool group;${near} (a server of tools is written [${pathText(["mcp", name])}])`,
    );
  }
}

function readShell(
  table: unknown,
  filesFolder: string | undefined,
  beside: Beside,
  reading: Reading,
): ShellConfig | undefined {
  const { problems } = reading;
  const path = ["tools", "shell"];
  const isLoose =
    isTable(table) && (table["approval"] === "auto" || table["approval"] === "ask once");
  if (isLoose)
    problems.error(
      [...path, "approval"],
      'would run commands unasked; name those that may be run without a question: allow = ["git status"]',
    );
  const asked = isLoose ? { ...table, approval: undefined } : table;
  const given = decodeSection("tools.shell", asked, path, reading);
  given.allow.forEach((command, index) => {
    const problem = allowEntryProblem(command);
    if (problem !== undefined) problems.error([...path, "allow", index], problem);
  });
  given.env.forEach((name, index) => {
    if (!isVariableName(name))
      problems.error(
        [...path, "env", index],
        "is no name of a variable; write the name alone, without $ and value",
      );
  });
  const folder = given.folder === undefined ? filesFolder : pathFrom(beside, given.folder);
  if (folder === undefined) return undefined;
  const { allow, env, timeout_seconds: seconds } = given;
  return { folder, allow, timeoutMs: seconds * 1000, env, ...policiesOf(given) };
}

function hasFolder(table: unknown): boolean {
  return isTable(table) && table["folder"] !== undefined;
}

export function policiesOf({ approval, results, unmask }: ToolPolicies): ToolPolicies {
  return { approval, results, unmask };
}
