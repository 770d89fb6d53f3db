/** SVG paths in a 24 × 24 view box. */
const iconPaths = {
  add: "M12 5v14M5 12h14",
  attach:
    "M20 11.5 12 19.5a5 5 0 0 1-7-7l8.5-8.5a3.3 3.3 0 0 1 4.7 4.7L9.8 17a1.6 1.6 0 0 1-2.3-2.3l7.6-7.5",
  back: "M19 12H5M11 6l-6 6 6 6",
  book: "M6 4h12v17l-6-4-6 4z",
  branch:
    "M7 5v14M7 5a2 2 0 1 0 0-.01M7 19a2 2 0 1 0 0 .01M17 8a2 2 0 1 0 0-.01M17 10c0 4-5 4-9.5 6",
  check: "M5 12.5 10 17.5 19.5 7",
  close: "M6 6l12 12M18 6 6 18",
  copy: "M9 9h10v11H9zM5 15V4h10",
  cost: "M12 4v16M16 7.5c-1-1.2-2.4-1.5-4-1.5-2.2 0-4 1-4 3s1.8 2.7 4 3 4 1 4 3-1.8 3-4 3c-1.6 0-3-.3-4-1.5",
  down: "M6 9l6 6 6-6",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  edit: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  file: "M7 3h7l4 4v14H7zM14 3v4h4",
  chevron: "M9 6l6 6-6 6",
  group: "M4 7h16M4 12h16M4 17h10",
  hand: "M8 12V6.5a1.5 1.5 0 0 1 3 0V11V5a1.5 1.5 0 0 1 3 0v6V6.5a1.5 1.5 0 0 1 3 0V14c0 4-2.5 7-6 7s-5-2-6.5-5L3.7 13a1.5 1.5 0 0 1 2.6-1.4L8 14",
  hide: "M4 4l16 16M9.9 5.2A9 9 0 0 1 12 5c5 0 8.5 4 9.5 7a12 12 0 0 1-2.7 4.2M6.2 7.2A12 12 0 0 0 2.5 12c1 3 4.500 7 9.500 7 1.500 0 2.900-.3 4.100-.9",
  image: "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15 9.5a1 1 0 1 0 0-.01",
  info: "M12 11v6M12 7.500v.01M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18",
  key: "M14 10a4 4 0 1 0-3.500 4l2 2h2v2h2v2h3v-3l-5.600-5.600",
  link: "M10 14a4 4 0 0 0 5.700 0l3-3A4 4 0 0 0 13 5.300l-1 1M14 10a4 4 0 0 0-5.700 0l-3 3A4 4 0 0 0 11 18.700l1-1",
  list: "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
  menu: "M4 6h16M4 12h16M4 18h16",
  more: "M5 11.4a.6.6 0 1 0 .01 0M12 11.4a.6.6 0 1 0 .01 0M19 11.4a.6.6 0 1 0 .01 0",
  moon: "M20 14.500A8.500 8.500 0 1 1 9.500 4 7 7 0 0 0 20 14.500",
  people:
    "M9 11a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7M2.500 20c.5-4 3-6 6.500-6s6 2 6.500 6M16 4.500a3.500 3.500 0 0 1 0 6.500M18 14.500c2 .8 3.200 2.600 3.500 5.500",
  pin: "M9 4h6l-1 6 3 3v2H7v-2l3-3zM12 15v6",
  play: "M8 5l11 7-11 7z",
  plug: "M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4",
  queue: "M4 6h16M4 11h16M4 16h8M16 14v6M13 17h6",
  quote: "M5 6v12M9 8h10M9 12h10M9 16h6",
  redo: "M20 5v5h-5M20 10a8 8 0 1 0 .3 4",
  search: "M10.500 17a6.500 6.500 0 1 0 0-13 6.500 6.500 0 0 0 0 13M15.500 15.500 20.500 20.500",
  send: "M12 19V5M6 11l6-6 6 6",
  separator: "M3 12h4M10 12h4M17 12h4M12 4v3M12 17v3",
  settings: "M4 7h9M19 7h1M4 17h1M11 17h9M16 7a2 2 0 1 1-.01 0M8 17a2 2 0 1 1-.01 0",
  shield: "M12 3l8 3v6c0 5-3.500 8-8 9-4.500-1-8-4-8-9V6z",
  sidebar: "M4 5h16v14H4zM10 5v14",
  audio: "M4 10v4h3l5 4V6L7 10zM16 9a4 4 0 0 1 0 6M18.500 6.500a8 8 0 0 1 0 11",
  stop: "M7 7h10v10H7z",
  tag: "M4 4h8l8 8-8 8-8-8zM8.500 8.500h.01",
  reasoning: "M9 18h6M10 21h4M8 15a6.500 6.500 0 1 1 8 0c-.7.6-1 1.200-1 2H9c0-.8-.3-1.400-1-2",
  tool: "M14.500 6.500a4 4 0 0 1 5-2.300l-2.700 2.700.8 2.500 2.500.8 0 0a4 4 0 0 1-5.300 3.300L8 20.300a2 2 0 0 1-3-3l6.800-6.800a4 4 0 0 1 2.700-4",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5",
  tree: "M12 8V5M12 8a0 0 0 0 1 0 0M6 19v-4h12v4M12 15V8M12 5a2 2 0 1 0 0-.01M6 21a2 2 0 1 0 0-.01M18 21a2 2 0 1 0 0-.01",
  undo: "M4 5v5h5M4 10a8 8 0 1 1-.3 4",
  up: "M6 15l6-6 6 6",
  upload: "M12 20V9M7 13l5-5 5 5M5 4h14",
  warning: "M12 4 21.500 20H2.500zM12 10v4M12 17v.01",
  minus: "M5 12h14",
  fit: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  target: "M12 19a7 7 0 1 0 0-14 7 7 0 0 0 0 14M12 2v5M12 17v5M2 12h5M17 12h5",
} as const;

export type IconName = keyof typeof iconPaths;

/** Icons that are mirrored in right-to-left languages. */
const directionalIcons: ReadonlySet<IconName> = new Set(["back", "chevron", "redo", "undo"]);

export function Icon({ name, small }: { name: IconName; small?: boolean | undefined }) {
  return (
    <svg
      className="icon"
      viewBox="0 0 24 24"
      aria-hidden="true"
      focusable="false"
      data-small={small || undefined}
      data-directional={directionalIcons.has(name) || undefined}
    >
      <path d={iconPaths[name]} />
    </svg>
  );
}
