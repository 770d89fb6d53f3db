import type { AgentSelection } from "./agents.ts";

const variable = "DELTAWIRE_TEST_AGENTS";

/** Passes the agents that were selected to the process of the tests. */
export function selectionEnvironment(selection: AgentSelection): Record<string, string> {
  return { [variable]: JSON.stringify(selection) };
}

/** Returns the selected agents of the environment. Default: those of the short form. */
export function readSelection(): AgentSelection {
  const text = process.env[variable];
  return text === undefined ? { names: [], isLong: false } : (JSON.parse(text) as AgentSelection);
}
