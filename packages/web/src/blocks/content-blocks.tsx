import { memo, useMemo, useState, type ReactNode } from "react";
import {
  assertNever,
  type AudioBlock,
  type Block,
  type FileBlock,
  type ImageBlock,
} from "@deltawire/tasks";
import { LazyMarkdown } from "../markdown/lazy-markdown.tsx";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { Collapsible } from "../ui/indicators.tsx";
import { classifyUrl, type ClassifiedUrl } from "../text/classify-url.ts";
import { revealInvisible } from "../text/reveal-invisible.ts";
import { useFormatter } from "../messages/format.ts";
import { useMessages } from "../messages/use-messages.ts";
import "./blocks.css";
import { StreamingText, LongText } from "./long-text.tsx";
import { blockMessages } from "./messages.ts";

interface ContentBlocksProps {
  blocks: readonly Block[];
  /** True if the last block is still streaming. */
  isStreaming?: boolean;
}

/** Renders the content blocks of a tool result or a message. */
export function ContentBlocks({ blocks, isStreaming = false }: ContentBlocksProps) {
  if (blocks.length === 0) return null;
  return (
    <div className="blocks">
      {blocks.map((block, index) => (
        <ContentBlockView
          key={index}
          block={block}
          number={index + 1}
          isStreaming={isStreaming && index === blocks.length - 1}
        />
      ))}
    </div>
  );
}

interface ContentBlockViewProps {
  block: Block;
  number: number;
  isStreaming?: boolean;
}

export const ContentBlockView = memo(function ContentBlockView({
  block,
  number,
  isStreaming,
}: ContentBlockViewProps) {
  const unfinishedType = getUnfinishedMediaType(block);
  if (unfinishedType !== undefined)
    return <UnfinishedMedia kind={unfinishedType} isStreaming={isStreaming === true} />;
  switch (block.type) {
    case "text":
      return isStreaming === true ? (
        <StreamingText text={block.text} />
      ) : (
        <ToolResultText text={block.text} />
      );
    case "image":
      return <ImageView block={block} number={number} />;
    case "audio":
      return <AudioView block={block} />;
    case "file":
      return <FileLink block={block} />;
    case "data":
      return <JsonData data={block.data} />;
    default:
      return assertNever(block);
  }
});

type MediaBlock = Extract<Block, { type: "image" | "audio" | "file" }>;

/** Returns the type of a media block without a URL, which is still being generated or was never finished. Undefined otherwise. */
function getUnfinishedMediaType(block: Block): MediaBlock["type"] | undefined {
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

function UnfinishedMedia({
  kind,
  isStreaming,
}: {
  kind: MediaBlock["type"];
  isStreaming: boolean;
}) {
  const t = useMessages(blockMessages);
  return (
    <p className="blocks-unfinished" data-kind={kind} data-streaming={isStreaming || undefined}>
      {isStreaming ? t[`${kind}InProgress`] : t[`${kind}Unfinished`]}
    </p>
  );
}

/** Longer text is collapsed, with a button that shows all of it. */
const maxCollapsedLength = 1600;
const maxCollapsedLines = 16;

function ToolResultText({ text }: { text: string }) {
  const formatted = useMemo(() => formatResultText(text), [text]);
  return (
    <CollapsibleText text={formatted.text}>
      {(visibleText) =>
        formatted.type === "markdown" ? (
          <LazyMarkdown text={visibleText} isStreaming={false} />
        ) : (
          <LongText text={visibleText} mono={formatted.type === "json"} />
        )
      }
    </CollapsibleText>
  );
}

function JsonData({ data }: { data: unknown }) {
  const text = useMemo(() => JSON.stringify(data, null, 2), [data]);
  return (
    <CollapsibleText text={text}>
      {(visibleText) => <LongText text={visibleText} mono />}
    </CollapsibleText>
  );
}

interface CollapsibleTextProps {
  text: string;
  children: (visibleText: string) => ReactNode;
}

function CollapsibleText({ text, children }: CollapsibleTextProps) {
  const t = useMessages(blockMessages);
  const format = useFormatter();
  const [isExpanded, setExpanded] = useState(false);
  const truncatedText = useMemo(() => truncateText(text), [text]);
  if (truncatedText === text) return children(text);
  return (
    <div className="blocks-collapsible">
      {children(isExpanded ? text : `${truncatedText}…`)}
      <Button
        kind="ghost"
        small
        icon={isExpanded ? "up" : "down"}
        onClick={() => setExpanded(!isExpanded)}
      >
        {isExpanded ? t.showLess : t.showAll(format.bytes(text.length))}
      </Button>
    </div>
  );
}

function truncateText(text: string): string {
  const lines = text.slice(0, maxCollapsedLength * 2).split("\n");
  const truncated = lines.slice(0, maxCollapsedLines).join("\n").slice(0, maxCollapsedLength);
  // Hiding less than a sixth of the text is not worth a button.
  return truncated.length * 1.2 >= text.length ? text : truncated;
}

function ImageView({ block, number }: { block: ImageBlock; number: number }) {
  const t = useMessages(blockMessages);
  const [isLarge, setLarge] = useState(false);
  const link = classifyUrl(block.image_url.url);
  const name = t.image(number);
  if (link.type !== "local") return <ExternalMediaLink link={link} formatLabel={t.externalImage} />;
  return (
    <>
      <button
        type="button"
        className="blocks-image"
        aria-label={t.enlarge(name)}
        onClick={() => setLarge(true)}
      >
        <img src={link.url} alt={name} loading="lazy" decoding="async" />
      </button>
      {isLarge && (
        <Dialog title={name} wide onClose={() => setLarge(false)}>
          <img className="blocks-image-large" src={link.url} alt={name} />
        </Dialog>
      )}
    </>
  );
}

function AudioView({ block }: { block: AudioBlock }) {
  const t = useMessages(blockMessages);
  const { transcript = "" } = block;
  const link = classifyUrl(block.audio_url.url);
  return (
    <div className="blocks-audio">
      {link.type === "local" ? (
        // The transcript is below.
        // oxlint-disable-next-line jsx-a11y/media-has-caption
        <audio controls preload="metadata" src={link.url} aria-label={t.audio} />
      ) : (
        <ExternalMediaLink link={link} formatLabel={t.externalAudio} />
      )}
      {transcript !== "" && (
        <Collapsible summary={t.transcript}>
          <p className="plain-text" dir="auto">
            {transcript}
          </p>
        </Collapsible>
      )}
    </div>
  );
}

function FileLink({ block }: { block: FileBlock }) {
  const t = useMessages(blockMessages);
  const { file_url, filename, media_type } = block;
  const link = classifyUrl(file_url.url);
  const name = filename === undefined ? t.file : revealInvisible(filename);
  if (link.type !== "local") return <ExternalMediaLink link={link} formatLabel={t.externalFile} />;
  return (
    <a
      className="file-box blocks-file"
      href={link.url}
      download={filename ?? ""}
      aria-label={t.download(name)}
    >
      <Icon name="file" />
      <span className="blocks-file-name" dir="auto">
        {name}
      </span>
      {media_type !== undefined && <span className="muted">{media_type}</span>}
      <Icon name="download" small />
    </a>
  );
}

interface ExternalMediaLinkProps {
  link: Exclude<ClassifiedUrl, { type: "local" }>;
  formatLabel: (host: string) => string;
}

/** A link to media on another host, which the page does not load. */
function ExternalMediaLink({ link, formatLabel }: ExternalMediaLinkProps) {
  const t = useMessages(blockMessages);
  if (link.type === "unsafe") return <p className="muted">{t.unsafeUrl}</p>;
  return (
    <a className="file-box blocks-file" href={link.url} target="_blank" rel="noreferrer noopener">
      <Icon name="link" />
      <span className="blocks-file-name">{formatLabel(link.host)}</span>
    </a>
  );
}

interface FormattedResultText {
  readonly type: "json" | "markdown" | "plain";
  readonly text: string;
}

/** Longer text is shown as plain text. */
const maxFormattedLength = 200_000;

/** Pretty-prints JSON, and detects Markdown. */
export function formatResultText(text: string): FormattedResultText {
  if (text.length > maxFormattedLength) return { type: "plain", text };
  if (/^\s*[[{]/.test(text)) {
    try {
      return { type: "json", text: JSON.stringify(JSON.parse(text), null, 2) };
    } catch {
      // Begins like JSON but is not valid JSON.
    }
  }
  return {
    type: markdownPatterns.some((pattern) => pattern.test(text)) ? "markdown" : "plain",
    text,
  };
}

/** Patterns that rarely occur outside of Markdown. */
const markdownPatterns = [
  /^#{1,6} \S/m,
  /^```/m,
  /^\|.*\|\s*\n\|[\s:|-]+\|/m,
  /\[[^\]\n]+\]\(https?:[^)\s]+\)/,
  /\*\*[^*\s][^*\n]*\*\*/,
];
