import { normalizeHost, isLoopback, isUnspecified, getEffectivePort } from "./host-addresses.ts";
import type { ServerConfig } from "./config.ts";

export type BaseUrlResult = { readonly url: string } | { readonly error: string };

/** Returns the normalized base URL of an upstream, or why it is invalid. Never quotes the URL, which may contain a password. */
export function parseBaseUrl(text: string): BaseUrlResult {
  const trimmed = text.trim();
  if (!URL.canParse(trimmed)) return { error: "must be a URL such as https://HOST/PATH" };
  const url = new URL(trimmed);
  if (url.protocol !== "https:" && url.protocol !== "http:")
    return { error: "must start with https://, or with http:// for a local server" };
  if (url.username !== "" || url.password !== "")
    return { error: "must not contain a user name or password; set api_key instead" };
  if (url.search !== "" || trimmed.includes("?"))
    return { error: 'must not contain a query; set query = { name = "…" } instead' };
  if (url.hash !== "" || trimmed.includes("#"))
    return { error: "must not contain a fragment (#…)" };
  const path = url.pathname.replace(/\/+$/, "");
  const ending = /\/(?:chat\/completions|responses|messages|models)$/.exec(path)?.[0];
  if (ending !== undefined) return { error: `must not end in ${ending}, which the gateway adds` };
  return { url: url.origin + path };
}

/** True if requests to the URL would come back to this gateway. Always false for port 0: the actual port is not known yet. */
export function pointsAtGateway(
  baseUrl: string,
  server: Pick<ServerConfig, "host" | "port" | "allowedHosts">,
): boolean {
  const url = new URL(baseUrl);
  if (getEffectivePort(url) !== server.port) return false;
  const host = normalizeHost(url.hostname);
  const names = [normalizeHost(server.host), ...server.allowedHosts];
  return isLoopback(host) || isUnspecified(host) || names.includes(host);
}
