import { setTimeout as delay } from "node:timers/promises";
import { strictObject } from "@deltawire/tasks/chats";
import * as v from "valibot";
import type { Log } from "../log.ts";
import { isAccessKeyToken } from "../security/access-key-format.ts";
import { createExpiredSessionCookie, createSessionCookie } from "../security/session.ts";
import type { Authenticator, RequestClient } from "../security/authenticator.ts";
import { SignInThrottle } from "../security/sign-in-throttle.ts";
import { parseBody } from "../parse-body.ts";
import { sendJson, type RequestContext } from "./request-context.ts";
import { GatewayError } from "../gateway-error.ts";
import { readJsonBody } from "./request-body.ts";

export interface SessionRouteServices {
  readonly authenticator: Authenticator;
  readonly throttle: SignInThrottle;
  readonly version: string;
  readonly log: Log;
}

export function createSessionServices(
  authenticator: Authenticator,
  version: string,
  log: Log,
): SessionRouteServices {
  return { authenticator, throttle: new SignInThrottle(), version, log };
}

export function serveSession(context: RequestContext, services: SessionRouteServices): void {
  sendSession(context, services, context.client);
}

const maxBodyBytes = 16 * 1024;

/** The body of `POST /api/session`. */
export const signInBodySchema = strictObject({
  token: v.pipe(
    v.string(),
    v.maxLength(maxBodyBytes),
    v.description("A token of the configuration, or an access key."),
  ),
});

/** Exchanges a token for the page's session cookie. */
export async function signIn(
  context: RequestContext,
  services: SessionRouteServices,
): Promise<void> {
  const { token } = parseBody(signInBodySchema, await readSmallJsonBody(context));
  if (!services.authenticator.isRequired) return sendSession(context, services, undefined);
  const address = context.request.socket.remoteAddress ?? "";
  if (!(await waitForThrottle(context, services.throttle, address))) return undefined;
  const sender = await services.authenticator.identifyToken(token);
  if (sender instanceof GatewayError && sender.code !== "missing_token") throw sender;
  if (sender instanceof GatewayError) {
    services.log.warn({ id: context.id, address }, "sign-in with a wrong token");
    throw isAccessKeyToken(token)
      ? sender
      : new GatewayError("missing_token", "the token is not one of this gateway's tokens");
  }
  services.throttle.clear(address);
  const cookie = createSessionCookie(token, context.request.headers);
  return sendSession(context, services, sender.client, { "set-cookie": cookie });
}

export function signOut(context: RequestContext, services: SessionRouteServices): void {
  const cookie = createExpiredSessionCookie(context.request.headers);
  sendSession(context, services, undefined, { "set-cookie": cookie });
}

async function readSmallJsonBody(context: RequestContext): Promise<unknown> {
  try {
    return await readJsonBody(context, { maxBytes: maxBodyBytes });
  } catch (error) {
    if (error instanceof GatewayError && error.code === "request_too_large")
      throw new GatewayError(
        "request_too_large",
        `the body is larger than ${maxBodyBytes} bytes; send only the token`,
      );
    throw error;
  }
}

/** Waits as long as the throttle requires. Returns false if the client disconnects. Throws a GatewayError (429) if the wait is too long. */
async function waitForThrottle(
  { signal }: RequestContext,
  throttle: SignInThrottle,
  address: string,
): Promise<boolean> {
  const decision = throttle.recordAttempt(address, Date.now());
  if (decision.status === "rejected") {
    const seconds = Math.ceil(decision.retryAfterMs / 1000);
    throw new GatewayError(
      "rate_limit_exceeded",
      `too many wrong tokens from your address; try again in ${seconds} s`,
      { retryAfter: seconds },
    );
  }
  if (decision.waitMs > 0)
    await delay(decision.waitMs, undefined, { signal }).catch(() => undefined);
  return !signal.aborted;
}

function sendSession(
  { response }: RequestContext,
  { authenticator, version }: SessionRouteServices,
  client: RequestClient | undefined,
  headers: Record<string, string> = {},
): void {
  const session = {
    version,
    token_required: authenticator.isRequired,
    signed_in: !authenticator.isRequired || client !== undefined,
    ...(client === undefined ? {} : { client: client.name }),
  };
  sendJson(response, 200, session, { "cache-control": "no-store", ...headers });
}
