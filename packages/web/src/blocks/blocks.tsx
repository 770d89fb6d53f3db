import { memo, useMemo, useState, type ReactNode } from "react";
import type { AudioBlock, Block, FileBlock, ImageBlock } from "@deltawire/tasks";
import { LazyMarkdown } from "../markdown/lazy-markdown.tsx";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { Fold } from "../parts/signs.tsx";
import { addressOf } from "../texts/address.ts";
import { revealed } from "../texts/revealed.ts";
import { unreachable } from "../unreachable.ts";
import { useFormat } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
import "./blocks.css";
import { GrowingText, LongText } from "./long-text.tsx";
import { blockWords } from "./words.ts";

interface BlocksProps {
  blocks: readonly Block[];
  /** The last of them may still grow. */
  isGrowing?: boolean;
}

/** What a tool gave to be seen. */
export function Blocks({ blocks, isGrowing = false }: BlocksProps) {
  if (blocks.length === 0) return null;
  return (
    <div className="blocks">
      {blocks.map((block, at) => (
        <BlockView
          key={at}
          block={block}
          number={at + 1}
          isGrowing={isGrowing && at === blocks.length - 1}
        />
      ))}
    </div>
  );
}

interface BlockProps {
  block: Block;
  number: number;
  isGrowing?: boolean;
}

export const BlockView = memo(function BlockView({ block, number, isGrowing }: BlockProps) {
  const empty = emptyMedium(block);
  if (empty !== undefined) return <Unfinished kind={empty} isGrowing={isGrowing === true} />;
  switch (block.type) {
    case "text":
      return isGrowing === true ? (
        <GrowingText text={block.text} />
      ) : (
        <ResultText text={block.text} />
      );
    case "image":
      return <Picture block={block} number={number} />;
    case "audio":
      return <Sound block={block} />;
    case "file":
      return <FileLink block={block} />;
    case "data":
      return <Data data={block.data} />;
    default:
      return unreachable(block);
  }
});

type Medium = Extract<Block, { type: "image" | "audio" | "file" }>;

/** Announced, and without content: it is still to come, or the tool ended before it. */
function emptyMedium(block: Block): Medium["type"] | undefined {
  switch (block.type) {
    case "image":
      return block.image_url.url === "" ? "image" : undefined;
    case "audio":
      return block.audio_url.url === "" ? "audio" : undefined;
    case "file":
      return block.file_url.url === "" ? "file" : undefined;
    default:
      return undefined;
  }
}

function Unfinished({ kind, isGrowing }: { kind: Medium["type"]; isGrowing: boolean }) {
  const words = useWords(blockWords);
  return (
    <p className="blocks-unfinished" data-kind={kind} data-growing={isGrowing || undefined}>
      {isGrowing ? words[`${kind}InProgress`] : words[`${kind}Unfinished`]}
    </p>
  );
}

/** A text that is longer than this is folded. */
const longest = 1600;
const mostLines = 16;

function ResultText({ text }: { text: string }) {
  const read = useMemo(() => resultText(text), [text]);
  return (
    <Shortened text={read.text}>
      {(shown) =>
        read.is === "markdown" ? (
          <LazyMarkdown text={shown} growing={false} />
        ) : (
          <LongText text={shown} mono={read.is === "json"} />
        )
      }
    </Shortened>
  );
}

function Data({ data }: { data: unknown }) {
  const text = useMemo(() => JSON.stringify(data, null, 2), [data]);
  return <Shortened text={text}>{(shown) => <LongText text={shown} mono />}</Shortened>;
}

interface ShortenedProps {
  text: string;
  children: (shown: string) => ReactNode;
}

function Shortened({ text, children }: ShortenedProps) {
  const words = useWords(blockWords);
  const format = useFormat();
  const [isWhole, setWhole] = useState(false);
  const short = useMemo(() => beginning(text), [text]);
  if (short === text) return children(text);
  return (
    <div className="blocks-shortened">
      {children(isWhole ? text : `${short}…`)}
      <Button kind="ghost" small icon={isWhole ? "up" : "down"} onClick={() => setWhole(!isWhole)}>
        {isWhole ? words.showLess : words.showAll(format.bytes(text.length))}
      </Button>
    </div>
  );
}

function beginning(text: string): string {
  const lines = text.slice(0, longest * 2).split("\n");
  const short = lines.slice(0, mostLines).join("\n").slice(0, longest);
  // A few characters more are not worth a button.
  return short.length * 1.2 >= text.length ? text : short;
}

function Picture({ block, number }: { block: ImageBlock; number: number }) {
  const words = useWords(blockWords);
  const [isLarge, setLarge] = useState(false);
  const address = addressOf(block.image_url.url);
  const name = words.picture(number);
  if (address.is !== "here") return <Elsewhere address={address} named={words.pictureElsewhere} />;
  return (
    <>
      <button
        type="button"
        className="blocks-picture"
        aria-label={words.enlarge(name)}
        onClick={() => setLarge(true)}
      >
        <img src={address.url} alt={name} loading="lazy" decoding="async" />
      </button>
      {isLarge && (
        <Dialog title={name} wide onClose={() => setLarge(false)}>
          <img className="blocks-picture-large" src={address.url} alt={name} />
        </Dialog>
      )}
    </>
  );
}

function Sound({ block }: { block: AudioBlock }) {
  const words = useWords(blockWords);
  const { transcript = "" } = block;
  const address = addressOf(block.audio_url.url);
  return (
    <div className="blocks-sound">
      {address.is === "here" ? (
        // What is said in it stands below.
        // oxlint-disable-next-line jsx-a11y/media-has-caption
        <audio controls preload="metadata" src={address.url} aria-label={words.sound} />
      ) : (
        <Elsewhere address={address} named={words.soundElsewhere} />
      )}
      {transcript !== "" && (
        <Fold summary={words.transcript}>
          <p className="plain-text" dir="auto">
            {transcript}
          </p>
        </Fold>
      )}
    </div>
  );
}

function FileLink({ block }: { block: FileBlock }) {
  const words = useWords(blockWords);
  const { file_url, filename, media_type } = block;
  const address = addressOf(file_url.url);
  const name = filename === undefined ? words.file : revealed(filename);
  if (address.is !== "here") return <Elsewhere address={address} named={words.fileElsewhere} />;
  return (
    <a
      className="file-box blocks-file"
      href={address.url}
      download={filename ?? ""}
      aria-label={words.download(name)}
    >
      <Icon name="file" />
      <span className="blocks-file-name" dir="auto">
        {name}
      </span>
      {media_type !== undefined && <span className="quiet">{media_type}</span>}
      <Icon name="download" small />
    </a>
  );
}

interface ElsewhereProps {
  address: Exclude<ReturnType<typeof addressOf>, { is: "here" }>;
  named: (host: string) => string;
}

/** The page fetches nothing from outside: a reader may. */
function Elsewhere({ address, named }: ElsewhereProps) {
  const words = useWords(blockWords);
  if (address.is === "unusable") return <p className="quiet">{words.notShown}</p>;
  return (
    <a
      className="file-box blocks-file"
      href={address.url}
      target="_blank"
      rel="noreferrer noopener"
    >
      <Icon name="link" />
      <span className="blocks-file-name">{named(address.host)}</span>
    </a>
  );
}

/** How a tool's text reads best. */
interface ReadText {
  readonly is: "json" | "markdown" | "plain";
  readonly text: string;
}

/** Beyond it nothing is parsed to be made pretty. */
const longestParsed = 200_000;

export function resultText(text: string): ReadText {
  if (text.length > longestParsed) return { is: "plain", text };
  if (/^\s*[[{]/.test(text)) {
    try {
      return { is: "json", text: JSON.stringify(JSON.parse(text), null, 2) };
    } catch {
      // It only begins like JSON.
    }
  }
  return { is: marks.some((mark) => mark.test(text)) ? "markdown" : "plain", text };
}

/** What nobody writes who does not mean Markdown. */
const marks = [
  /^#{1,6} \S/m,
  /^```/m,
  /^\|.*\|\s*\n\|[\s:|-]+\|/m,
  /\[[^\]\n]+\]\(https?:[^)\s]+\)/,
  /\*\*[^*\s][^*\n]*\*\*/,
];
