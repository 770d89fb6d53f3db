import { setTimeout as pause } from "node:timers/promises";
import { object } from "@deltawire/tasks/chats";
import * as v from "valibot";
import type { ClientConfig, ServerConfig } from "../config/config.ts";
import type { Log } from "../log.ts";
import { endedSessionCookie, sessionCookie } from "../security/session.ts";
import { Tokens } from "../security/tokens.ts";
import { WrongTries } from "../security/wrong-tries.ts";
import { parseBody } from "../parse-body.ts";
import { sendJson, type Call } from "./call.ts";
import { Problem } from "../problem.ts";
import { readJson } from "./request-body.ts";

export interface SessionServer {
  readonly tokens: Tokens;
  readonly tries: WrongTries;
  readonly version: string;
  readonly log: Log;
}

export function sessionServer(config: ServerConfig, version: string, log: Log): SessionServer {
  return { tokens: new Tokens(config.clients), tries: new WrongTries(), version, log };
}

export function serveSession(call: Call, server: SessionServer): void {
  sendSession(call, server, call.client);
}

const mostBytes = 16 * 1024;

/** `POST /api/session` */
export const signInBody = object({
  token: v.pipe(v.string(), v.maxLength(mostBytes), v.description("One of the configuration.")),
});

/** Gives the page a cookie for a token. */
export async function signIn(call: Call, server: SessionServer): Promise<void> {
  const { token } = parseBody(signInBody, await readSmall(call));
  if (!server.tokens.required) return sendSession(call, server, undefined);
  const address = call.request.socket.remoteAddress ?? "";
  if (!(await hasTurn(call, server.tries, address))) return undefined;
  const client = server.tokens.clientOf(token);
  if (client === undefined) {
    server.log.warn({ id: call.id, address }, "a wrong token was tried on the page");
    throw new Problem("missing_token", "this is none of the gateway's tokens");
  }
  server.tries.clear(address);
  const cookie = sessionCookie(client.token, call.request.headers);
  return sendSession(call, server, client, { "set-cookie": cookie });
}

export function signOut(call: Call, server: SessionServer): void {
  const cookie = endedSessionCookie(call.request.headers);
  sendSession(call, server, undefined, { "set-cookie": cookie });
}

async function readSmall(call: Call): Promise<unknown> {
  try {
    return await readJson(call, { maxBytes: mostBytes });
  } catch (error) {
    if (error instanceof Problem && error.code === "request_too_large")
      throw new Problem(
        "request_too_large",
        `no token is that long: send ${mostBytes} bytes at most`,
      );
    throw error;
  }
}

/** Waits for it; false if the client has left before. */
async function hasTurn({ signal }: Call, tries: WrongTries, address: string): Promise<boolean> {
  const turn = tries.turnOf(address, Date.now());
  if (turn.is === "later") {
    const seconds = Math.ceil(turn.retryAfterMs / 1000);
    throw new Problem(
      "rate_limit_exceeded",
      `too many wrong tokens came from your address; try again in ${seconds} s`,
      { retryAfter: seconds },
    );
  }
  if (turn.waitMs > 0) await pause(turn.waitMs, undefined, { signal }).catch(() => undefined);
  return !signal.aborted;
}

function sendSession(
  { response }: Call,
  { tokens, version }: SessionServer,
  client: ClientConfig | undefined,
  headers: Record<string, string> = {},
): void {
  const session = {
    version,
    token_required: tokens.required,
    signed_in: !tokens.required || client !== undefined,
    ...(client === undefined ? {} : { client: client.name }),
  };
  sendJson(response, 200, session, { "cache-control": "no-store", ...headers });
}
