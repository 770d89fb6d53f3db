import { getCommandName } from "../terminal.ts";
import { formatCodexConfig } from "../codex/format-config.ts";
import type { HostEnvironment } from "../config/config-paths.ts";
import { formatDiff } from "../migrate/diff.ts";
import { isExpectedError, prepareMigration, toDisplayPath } from "../migrate/prepare-migration.ts";
import { sendJson, type RequestContext } from "./request-context.ts";
import { findFirstModel, getPublicUrl, type StatusRouteServices } from "./serve-status.ts";

export interface CodexRouteServices extends StatusRouteServices {
  /** Used to find the user's Codex configuration. Undefined: that configuration is not read. */
  hostEnvironment: HostEnvironment | undefined;
}

/** Sends the configuration to paste into Codex and a preview of what `migrate` would change. Writes no files. */
export async function serveCodex(
  context: RequestContext,
  services: CodexRouteServices,
): Promise<void> {
  const url = getPublicUrl(context, services);
  const isOpen = services.config.server.clients.length === 0;
  const model =
    context.url.searchParams.get("model") ?? (await findFirstModel(services)) ?? "MODEL";
  sendJson(context.response, 200, {
    url,
    model,
    token_required: !isOpen,
    command: formatCodexCommand(services, model),
    block: formatCodexConfig({ url, model, token: isOpen ? "local" : "YOUR TOKEN" }),
    migration: previewMigration(services),
  });
}

/** Returns the command that runs Codex with this gateway: `deltawire codex`, or `npm start -- codex` if npm started the gateway. */
function formatCodexCommand(
  { hostEnvironment, getUrl }: CodexRouteServices,
  model: string,
): string {
  const { port } = new URL(getUrl());
  const name = getCommandName(hostEnvironment?.env ?? {});
  const portFlag = port === defaultPort ? [] : ["--port", port];
  return [name, ...portFlag, "codex", "-m", quoteShellWord(model)].join(" ");
}

const defaultPort = "4141";

function quoteShellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Returns what `migrate` would change, as diffs with each secret replaced by "…". */
function previewMigration({ hostEnvironment, getUrl }: CodexRouteServices): object {
  if (hostEnvironment === undefined) return { status: "unknown" };
  const port = Number(new URL(getUrl()).port);
  try {
    const options = { file: undefined, gatewayFile: undefined, port };
    const { plan, changes, notes, codexFile } = prepareMigration(options, hostEnvironment);
    const file = toDisplayPath(codexFile, hostEnvironment);
    if (plan.isEmpty) return { status: "not_needed", file, notes };
    const diffs = changes.map((change) => ({
      file: toDisplayPath(change.file, hostEnvironment),
      diff: formatDiff(change.lines),
    }));
    return { status: "possible", file, changes: diffs, notes, unset: plan.unsetVariables };
  } catch (error) {
    if (!isExpectedError(error)) throw error;
    return { status: "impossible", reason: error.message };
  }
}
