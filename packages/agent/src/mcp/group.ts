import type { Tool as ListedTool } from "@modelcontextprotocol/client";
import { Redactor, type Redact } from "../redaction/redactor.ts";
import { secretsIn, secretsOfUrl } from "../redaction/secret-values.ts";
import type { Tool } from "../tool.ts";
import type { McpServer, McpToolGroup } from "./server.ts";
import { maxNameLength, maxSchemasLength, schemaProblem, shortened } from "./limits.ts";
import { McpSession } from "./session.ts";
import { toolOf } from "./tool-of.ts";
import { toolNames } from "./tool-names.ts";

/** A server that could not be reached is left alone for this long. */
const pauseMs = 10_000;
/** What a server may add to the system prompt. */
const longestRules = 4000;
/** Of tools that cannot be used, one by one. */
const maxWarnings = 10;

export class McpGroup implements McpToolGroup {
  readonly name: string;
  readonly #server: McpServer;
  readonly #session: McpSession;
  readonly #redact: Redact;
  #tools: readonly Tool[] = [];
  /** When it may be asked again, while its tools are not known. */
  #askAt: number | undefined;
  #missingSince: number | undefined;
  #isClosed = false;

  constructor(server: McpServer) {
    const { name, env = {}, headers = {}, url, secrets = [] } = server;
    this.name = name;
    this.#server = server;
    const redactor = new Redactor([
      ...secrets,
      ...secretsIn(Object.entries({ ...env, ...headers })),
      ...(url === undefined ? [] : secretsOfUrl(new URL(url))),
    ]);
    this.#redact = (text) => redactor.redact(text);
    this.#session = new McpSession(server, this.#redact, {
      onTools: (listed) => (this.#tools = this.#read(listed)),
      onWarning: (message) => this.#warn(message),
    });
  }

  get description(): string {
    return `The tools of the MCP server ${this.name}`;
  }

  get rules(): string {
    const said = this.#session.instructions?.trim() ?? "";
    if (said === "" || this.#tools.length === 0) return "";
    return `About the tools whose names begin with ${this.name}__:\n${said.slice(0, longestRules)}`;
  }

  get tools(): readonly Tool[] {
    if (this.#askAt !== undefined && performance.now() > this.#askAt) void this.start();
    return this.#tools;
  }

  get missingForMs(): number | undefined {
    return this.#missingSince === undefined ? undefined : performance.now() - this.#missingSince;
  }

  async start(): Promise<void> {
    this.#askAt = undefined;
    try {
      await this.#session.start();
      this.#missingSince = undefined;
    } catch (error) {
      if (this.#isClosed) return;
      const now = performance.now();
      this.#askAt = now + pauseMs;
      this.#missingSince ??= now;
      this.#warn((error as Error).message);
    }
  }

  close(): Promise<void> {
    this.#askAt = undefined;
    this.#isClosed = true;
    return this.#session.close();
  }

  #read(listed: readonly ListedTool[]): Tool[] {
    const { tools: wanted, name: prefix } = this.#server;
    for (const name of wanted ?? [])
      if (!listed.some((tool) => tool.name === name))
        this.#warn(`the MCP server "${prefix}" has no tool "${name}"`);
    const named = listed.filter(({ name }) => name.length <= maxNameLength);
    if (named.length < listed.length)
      this.#warn(
        `${listed.length - named.length} tools of "${prefix}" have names of more than ${maxNameLength} characters and are left out`,
      );
    const used = named.filter(({ name }) => wanted === undefined || wanted.includes(name));
    const names = toolNames(
      prefix,
      named.map(({ name }) => name),
    );
    const tools = new Map<string, Tool>();
    let schemasLength = 0;
    const problems: string[] = [];
    for (const tool of used) {
      const name = names.get(tool.name) ?? tool.name;
      if (tools.has(name)) continue;
      try {
        const schema = JSON.stringify(tool.inputSchema);
        schemasLength += schema.length;
        const problem =
          schemaProblem(schema) ??
          (schemasLength > maxSchemasLength
            ? `the schemas of the server have more than ${maxSchemasLength} characters`
            : undefined);
        if (problem === undefined)
          tools.set(name, toolOf(name, tool, this.#server, this.#session, this.#redact));
        else problems.push(`the tool "${tool.name}" of "${prefix}" cannot be used: ${problem}`);
      } catch (error) {
        problems.push(
          `the tool "${tool.name}" of "${prefix}" cannot be used: ${shortened((error as Error).message, 500)}`,
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
