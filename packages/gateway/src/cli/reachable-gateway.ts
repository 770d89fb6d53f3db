import { redactErrorText } from "@deltawire/agent/basics";
import { resolveDataFolder } from "../config/config-paths.ts";
import { getConfigFile, type LoadedConfig } from "../config/load-config.ts";
import { getVariable } from "../config/secret.ts";
import type { ListModels } from "../coding-agents/choose-model.ts";
import { placeholderToken } from "../coding-agents/connection.ts";
import { startGateway, type Gateway } from "../gateway.ts";
import type { ModelList } from "../models/model-list.ts";
import { startListening } from "./serve-command.ts";
import type { Terminal } from "../terminal.ts";
import { warnAboutIgnoredSettings } from "./ignored-settings.ts";
import type { CliFlags } from "./parse-arguments.ts";
import {
  createGatewayRequest,
  findRunningGateway,
  GatewayRequestError,
} from "./running-gateway.ts";

/** A gateway that programs on this machine can use until the command ends. */
export interface ReachableGateway {
  /** Without `/v1`. */
  readonly url: string;
  /** A placeholder if the gateway requires no token. */
  readonly token: string;
  readonly isTokenRequired: boolean;
  /** False if it was started for this command. */
  readonly isRunning: boolean;
  readonly listModels: ListModels;
  /** Returns the gateway's message for a model that it does not have. */
  readonly explainUnknownModel: (name: string) => Promise<string>;
}

const discoveryTimeoutMs = 3000;
const probeTimeoutMs = 5000;

/** Calls `use` with the running gateway, or with one that is started for as long as `use` runs, on the port of `--port` if that is set. */
export async function withGateway<Result>(
  loaded: LoadedConfig,
  flags: CliFlags,
  terminal: Terminal,
  use: (gateway: ReachableGateway) => Promise<Result>,
): Promise<Result> {
  const { env } = terminal;
  const { config } = loaded;
  const running = await findRunningGateway(config, flags.data, terminal);
  if (running !== undefined) {
    await warnAboutIgnoredSettings(running, loaded, flags, terminal);
    return use(await toReachableGateway(running, true));
  }
  // The program may use the full screen, so the gateway must not log to the terminal.
  for (const warning of config.warnings) terminal.stderr.write(`warning: ${warning}\n`);
  const port = flags.port === undefined ? 0 : config.server.port;
  const server = { ...config.server, host: "127.0.0.1", port, logLevel: "silent" as const };
  const gateway = await startListening(() =>
    startGateway({
      config: { ...config, server },
      env,
      dataFolder: resolveDataFolder(flags.data, terminal),
      configFile: getConfigFile(loaded),
      logTarget: { write: () => undefined },
    }),
  );
  try {
    await gateway.discovery.waitUntilReady(discoveryTimeoutMs);
    for (const { upstream, reason } of listFailedListings(gateway, discoveryTimeoutMs))
      terminal.stderr.write(`warning: ${upstream}: could not list models: ${reason}\n`);
    const { url, localToken } = gateway;
    const token =
      config.server.clients[0]?.token ?? getVariable("DELTAWIRE_TOKEN", env) ?? localToken;
    return await use(await toReachableGateway({ url, token }, false));
  } finally {
    await gateway.close();
  }
}

/** An upstream whose models could not be listed. */
export interface FailedListing {
  readonly upstream: string;
  readonly reason: string;
}

/** Returns the upstreams of a gateway whose models could not be listed, after waiting `timeoutMs` for them. */
export function listFailedListings(
  { config, discovery, relay }: Pick<Gateway, "config" | "discovery" | "relay">,
  timeoutMs: number,
): readonly FailedListing[] {
  return [...config.upstreams.values()].flatMap((upstream) => {
    const state = discovery.getState(upstream);
    if (state.status === "loading")
      return [{ upstream: upstream.name, reason: `no response within ${timeoutMs / 1000} s` }];
    if (state.status !== "failed") return [];
    return [{ upstream: upstream.name, reason: redactErrorText(state.reason, relay.redactor) }];
  });
}

async function toReachableGateway(
  { url, token }: { url: string; token: string | undefined },
  isRunning: boolean,
): Promise<ReachableGateway> {
  const { status } = await fetch(`${url}/v1/models`, {
    redirect: "error",
    signal: AbortSignal.timeout(probeTimeoutMs),
  });
  const isTokenRequired = status === 401;
  const request = createGatewayRequest(url, token);
  return {
    url,
    // Programs that run commands should not have a token that they do not need.
    token: (isTokenRequired ? token : undefined) ?? placeholderToken,
    isTokenRequired,
    isRunning,
    listModels: async (name) =>
      (await request(
        `/v1/models${name === undefined ? "" : `?model=${encodeURIComponent(name)}`}`,
      )) as ModelList,
    explainUnknownModel: async (name) => {
      const path = name.split("/").map(encodeURIComponent).join("/");
      try {
        await request(`/v1/models/${path}`);
      } catch (error) {
        if (error instanceof GatewayRequestError && error.gatewayMessage !== undefined)
          return error.gatewayMessage;
      }
      return `unknown model "${name}"`;
    },
  };
}
