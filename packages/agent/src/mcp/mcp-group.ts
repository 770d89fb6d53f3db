import type { Tool as ListedTool } from "@modelcontextprotocol/client";
import { Redactor, type Redact } from "../redaction/redactor.ts";
import { findSecretValues, findUrlSecrets } from "../redaction/secret-values.ts";
import type { Tool } from "../tool.ts";
import type { McpServerConfig, McpToolGroup } from "./server-config.ts";
import { maxNameLength, maxSchemasLength, findSchemaProblem, truncateWithCount } from "./limits.ts";
import { McpSession } from "./session.ts";
import { createMcpTool } from "./mcp-tool.ts";
import { buildToolNames } from "./tool-names.ts";

/** Delay before the next attempt to reach a server, in milliseconds. */
const retryDelayMs = 10_000;
/** Maximum length of the instructions that a server adds to the system prompt, in characters. */
const maxRulesLength = 4000;
/** Maximum number of unusable tools that are reported individually. */
const maxWarnings = 10;

export class McpGroup implements McpToolGroup {
  readonly name: string;
  readonly #server: McpServerConfig;
  readonly #session: McpSession;
  readonly #redact: Redact;
  #tools: readonly Tool[] = [];
  /** When to try again; undefined while connecting or connected. */
  #retryAt: number | undefined;
  #unreachableSince: number | undefined;
  #isClosed = false;

  constructor(server: McpServerConfig) {
    const { name, env = {}, headers = {}, url, secrets = [] } = server;
    this.name = name;
    this.#server = server;
    const redactor = new Redactor([
      ...secrets,
      ...findSecretValues(Object.entries({ ...env, ...headers })),
      ...(url === undefined ? [] : findUrlSecrets(new URL(url))),
    ]);
    this.#redact = (text) => redactor.redact(text);
    this.#session = new McpSession(server, this.#redact, {
      onTools: (listedTools) => (this.#tools = this.#buildTools(listedTools)),
      onWarning: (message) => this.#warn(message),
    });
  }

  get description(): string {
    return `The tools of the MCP server ${this.name}`;
  }

  get rules(): string {
    const instructions = this.#session.instructions?.trim() ?? "";
    if (instructions === "" || this.#tools.length === 0) return "";
    return `About the tools whose names begin with ${this.name}__:\n${instructions.slice(0, maxRulesLength)}`;
  }

  get tools(): readonly Tool[] {
    if (this.#retryAt !== undefined && performance.now() > this.#retryAt) void this.start();
    return this.#tools;
  }

  get unreachableForMs(): number | undefined {
    return this.#unreachableSince === undefined
      ? undefined
      : performance.now() - this.#unreachableSince;
  }

  async start(): Promise<void> {
    this.#retryAt = undefined;
    try {
      await this.#session.start();
      this.#unreachableSince = undefined;
    } catch (error) {
      if (this.#isClosed) return;
      const now = performance.now();
      this.#retryAt = now + retryDelayMs;
      this.#unreachableSince ??= now;
      this.#warn((error as Error).message);
    }
  }

  close(): Promise<void> {
    this.#retryAt = undefined;
    this.#isClosed = true;
    return this.#session.close();
  }

  #buildTools(listedTools: readonly ListedTool[]): Tool[] {
    const { tools: allowedNames, name: prefix } = this.#server;
    for (const name of allowedNames ?? [])
      if (!listedTools.some((tool) => tool.name === name))
        this.#warn(`MCP server "${prefix}" has no tool "${name}"`);
    const namedTools = listedTools.filter(({ name }) => name.length <= maxNameLength);
    if (namedTools.length < listedTools.length)
      this.#warn(
        `${listedTools.length - namedTools.length} tools of "${prefix}" are ignored: their names have more than ${maxNameLength} characters`,
      );
    const selectedTools = namedTools.filter(
      ({ name }) => allowedNames === undefined || allowedNames.includes(name),
    );
    const names = buildToolNames(
      prefix,
      namedTools.map(({ name }) => name),
    );
    const tools = new Map<string, Tool>();
    let schemasLength = 0;
    const problems: string[] = [];
    for (const tool of selectedTools) {
      const name = names.get(tool.name) ?? tool.name;
      if (tools.has(name)) continue;
      try {
        const schema = JSON.stringify(tool.inputSchema);
        schemasLength += schema.length;
        const problem =
          findSchemaProblem(schema) ??
          (schemasLength > maxSchemasLength
            ? `the server's schemas have more than ${maxSchemasLength} characters in total`
            : undefined);
        if (problem === undefined)
          tools.set(name, createMcpTool(name, tool, this.#server, this.#session, this.#redact));
        else problems.push(`the tool "${tool.name}" of "${prefix}" cannot be used: ${problem}`);
      } catch (error) {
        problems.push(
          `the tool "${tool.name}" of "${prefix}" cannot be used: ${truncateWithCount((error as Error).message, 500)}`,
        );
      }
    }
    for (const problem of problems.slice(0, maxWarnings)) this.#warn(problem);
    if (problems.length > maxWarnings)
      this.#warn(`${problems.length - maxWarnings} more tools of "${prefix}" cannot be used`);
    return [...tools.values()];
  }

  #warn(message: string): void {
    this.#server.onWarning?.(this.#redact(message));
  }
}
