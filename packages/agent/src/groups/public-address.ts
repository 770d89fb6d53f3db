import { isIP } from "node:net";

/**
 * Whether an IP address is one of the open internet: not of this machine, its network, a cloud's metadata service, or
 * reserved. IPv6 is judged by what is allowed, IPv4 by what is not (IANA's registries of special-purpose addresses).
 */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return isPublicIpv4(ipv4Number(address));
    case 6:
      return isPublicIpv6(ipv6Groups(address));
    default:
      return false;
  }
}

const closedIpv4: readonly (readonly [network: string, bits: number])[] = [
  ["0.0.0.0", 8], // this host
  ["10.0.0.0", 8],
  ["100.64.0.0", 10], // carriers, and Alibaba's metadata
  ["127.0.0.0", 8],
  ["168.63.129.16", 32], // Azure's host, which looks public
  ["169.254.0.0", 16], // link-local, and everybody's metadata
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3], // multicast, reserved, broadcast
];

function isPublicIpv4(address: number): boolean {
  return closedIpv4.every(([network, bits]) => {
    const size = 2 ** (32 - bits);
    return Math.floor(address / size) !== Math.floor(ipv4Number(network) / size);
  });
}

function ipv4Number(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

function isPublicIpv6(groups: readonly number[] | undefined): boolean {
  if (groups === undefined) return false;
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  const ipv4Inside = g * 65536 + h;
  // ::ffff:10.0.0.1 is 10.0.0.1, and so is 64:ff9b::10.0.0.1 where a network translates (RFC 6052).
  if (a === 0 && b === 0 && c === 0 && d === 0 && e === 0 && f === 0xffff)
    return isPublicIpv4(ipv4Inside);
  if (a === 0x64 && b === 0xff9b && c === 0 && d === 0 && e === 0 && f === 0)
    return isPublicIpv4(ipv4Inside);
  if (a < 0x2000 || a > 0x3fff) return false; // only 2000::/3 is global
  if (a === 0x2001 && b < 0x200) return false; // Teredo and other protocols
  if (a === 0x2001 && b === 0xdb8) return false; // documentation
  if (a === 0x2002) return false; // 6to4, with any IPv4 address inside
  return !(a === 0x3fff && b < 0x1000); // documentation
}

/** The eight numbers of an address. One with a zone (`fe80::1%eth0`) is nothing that a URL can name. */
function ipv6Groups(address: string): number[] | undefined {
  if (!URL.canParse(`http://[${address}]`)) return undefined;
  const { hostname } = new URL(`http://[${address}]`); // in its one normal form, without dots
  const [before = "", after] = hostname.slice(1, -1).split("::");
  const numbers = (text: string | undefined): number[] =>
    text === undefined || text === "" ? [] : text.split(":").map((group) => parseInt(group, 16));
  const head = numbers(before);
  const tail = numbers(after);
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}
