import { commandName } from "../terminal.ts";
import { codexBlock } from "../codex/config-block.ts";
import type { World } from "../config/find.ts";
import { diffText } from "../migrate/diff.ts";
import { isMigrationProblem, prepareMigration, shown } from "../migrate/prepare.ts";
import { sendJson, type Call } from "./call.ts";
import { firstModel, reachedAt, type StatusServer } from "./serve-status.ts";

export interface CodexServer extends StatusServer {
  /** Whose Codex it is: the configuration is looked for where the gateway's user has it. */
  world: World | undefined;
}

/** How to connect Codex: what to paste, and what `migrate` would change. Nothing is written. */
export async function serveCodex(call: Call, server: CodexServer): Promise<void> {
  const url = reachedAt(call, server);
  const isOpen = server.config.server.clients.length === 0;
  const model = call.url.searchParams.get("model") ?? (await firstModel(server)) ?? "MODEL";
  sendJson(call.response, 200, {
    url,
    model,
    token_required: !isOpen,
    command: codexRun(server, model),
    block: codexBlock({ url, model, token: isOpen ? "local" : "YOUR TOKEN" }),
    migration: migrationIn(server),
  });
}

/** What runs Codex on this very gateway, as whoever started it calls it. */
function codexRun({ world, url }: CodexServer, model: string): string {
  const { port } = new URL(url());
  const name = commandName(world?.env ?? {});
  const where = port === usualPort ? [] : ["--port", port];
  return [name, ...where, "codex", "-m", shellWord(model)].join(" ");
}

const usualPort = "4141";

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** The diffs have "…" for every secret. */
function migrationIn({ world, url }: CodexServer): object {
  if (world === undefined) return { is: "unknown" };
  const port = Number(new URL(url()).port);
  try {
    const asked = { file: undefined, gatewayFile: undefined, port };
    const { plan, changes, notes, codexFile } = prepareMigration(asked, world);
    const file = shown(codexFile, world);
    if (plan.nothingToDo) return { is: "not needed", file, notes };
    const diffs = changes.map((change) => ({
      file: shown(change.file, world),
      diff: diffText(change.lines),
    }));
    return { is: "possible", file, changes: diffs, notes, unset: plan.unset };
  } catch (error) {
    if (!isMigrationProblem(error)) throw error;
    return { is: "impossible", why: error.message };
  }
}
