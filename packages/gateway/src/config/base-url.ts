import { bare, isLoopback, isUnspecified, portOf } from "./addresses.ts";
import type { ServerConfig } from "./config.ts";

export type BaseUrl = { readonly url: string } | { readonly fault: string };

/** The address of an upstream as it is used, or what is wrong with it. It is not repeated: it may hold a password. */
export function checkBaseUrl(text: string): BaseUrl {
  const trimmed = text.trim();
  if (!URL.canParse(trimmed)) return { fault: "is no address; write https://HOST/PATH" };
  const url = new URL(trimmed);
  if (url.protocol !== "https:" && url.protocol !== "http:")
    return { fault: "is no web address; write https://HOST/PATH, or http:// for a local server" };
  if (url.username !== "" || url.password !== "")
    return { fault: "has a user or password in it; take it out and set api_key" };
  if (url.search !== "" || trimmed.includes("?"))
    return { fault: 'has a query in it; take it out and set query = { name = "…" }' };
  if (url.hash !== "" || trimmed.includes("#"))
    return { fault: "has a # in it; take it and what follows out" };
  const path = url.pathname.replace(/\/+$/, "");
  const ending = /\/(?:chat\/completions|responses|models)$/.exec(path)?.[0];
  if (ending !== undefined) return { fault: `ends in ${ending}; take that out, it is added` };
  return { url: url.origin + path };
}

/** Whether requests to it would come back to this gateway, in whatever spelling. Of a free port it cannot be known. */
export function pointsAtGateway(
  baseUrl: string,
  server: Pick<ServerConfig, "host" | "port" | "allowedHosts">,
): boolean {
  const url = new URL(baseUrl);
  if (portOf(url) !== server.port) return false;
  const host = bare(url.hostname);
  const names = [bare(server.host), ...server.allowedHosts];
  return isLoopback(host) || isUnspecified(host) || names.includes(host);
}
