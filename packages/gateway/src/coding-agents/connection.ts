/** How a coding agent reaches the gateway, and which models it uses there. */
export interface GatewayConnection {
  /** Without `/v1`. */
  readonly url: string;
  /** Any text if the gateway requires no token. */
  readonly token: string;
  readonly model: ConnectedModel;
  /** For background work such as titles. Default: `model`. */
  readonly smallModel: ConnectedModel;
  /** The models that the agent may offer, including `model` and `smallModel`. */
  readonly models: readonly ConnectedModel[];
}

export interface ConnectedModel {
  readonly id: string;
  /** False for models of embeddings, images and audio. */
  readonly isChatModel: boolean;
  /** In tokens. Undefined if unknown. */
  readonly contextWindow: number | undefined;
  readonly canReason: boolean;
  readonly hasVision: boolean;
}

/** The environment variable that contains the gateway's token, for agents whose configuration can refer to one. */
export const tokenVariable = "DELTAWIRE_TOKEN";

/** Sent to gateways that require no token, because agents need one. */
export const placeholderToken = "local";

/** Returns how many tokens of a reply an agent may request: at most 32,000, as Claude Code does for unknown models. */
export function getOutputLimit({ contextWindow }: ConnectedModel): number {
  return Math.min(32_000, Math.floor((contextWindow ?? 128_000) / 4));
}
