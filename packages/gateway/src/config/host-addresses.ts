import { BlockList, isIP } from "node:net";

/** True if only this machine can reach the host. Names are not resolved: only `localhost` and its subdomains count. */
export function isLoopback(host: string): boolean {
  const name = normalizeHost(host);
  return name === "localhost" || name.endsWith(".localhost") || isInNetworks(loopback, name);
}

/** True for loopback addresses, private networks, names without a dot, and names with a private suffix such as `.local`. */
export function isPrivateHost(host: string): boolean {
  const name = normalizeHost(host);
  if (isIP(name) !== 0) return isInNetworks(loopback, name) || isInNetworks(privateNetworks, name);
  return !name.includes(".") || isLoopback(name) || privateSuffix.test(name);
}

/** True for `0.0.0.0` and `::`, which mean all interfaces to a listener and this machine to a client. */
export function isUnspecified(host: string): boolean {
  return isInNetworks(unspecified, normalizeHost(host));
}

/** Returns the host in lower case, without the brackets of IPv6 and without a trailing dot. */
export function normalizeHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "");
}

export function getEffectivePort(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

const privateSuffix = /\.(?:local|lan|internal|intranet|home\.arpa|test)$/;

function isInNetworks(networks: BlockList, address: string): boolean {
  const version = isIP(address);
  return version !== 0 && networks.check(address, version === 4 ? "ipv4" : "ipv6");
}

function createBlockList(...ranges: readonly [address: string, bits: number][]): BlockList {
  const networks = new BlockList();
  for (const [address, bits] of ranges)
    networks.addSubnet(address, bits, isIP(address) === 4 ? "ipv4" : "ipv6");
  return networks;
}

const loopback = createBlockList(["127.0.0.0", 8], ["::1", 128]);
const unspecified = createBlockList(["0.0.0.0", 32], ["::", 128]);
const privateNetworks = createBlockList(
  ["10.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["169.254.0.0", 16],
  ["100.64.0.0", 10], // carrier-grade NAT, which Tailscale uses
  ["fc00::", 7],
  ["fe80::", 10],
);
