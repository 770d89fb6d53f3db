import type { ReactNode } from "react";
import { Icon } from "./icon.tsx";

/** Something is under way. */
export function Spinner({ label }: { label: string }) {
  return (
    <span role="status">
      <span className="spinner" aria-hidden="true" />
      <span className="for-readers">{label}</span>
    </span>
  );
}

/** Where there is nothing to show: why, and what to do. */
export function Empty({
  title,
  text,
  children,
}: {
  title: string;
  text: string;
  children?: ReactNode;
}) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      <p>{text}</p>
      {children}
    </div>
  );
}

export function Tag({ children }: { children: ReactNode }) {
  return <span className="tag">{children}</span>;
}

export type StatusKind = "running" | "waiting" | "ok" | "failed" | "stopped";

export function Status({ kind, label }: { kind: StatusKind; label: string }) {
  return (
    <span className="status" data-kind={kind}>
      {label}
    </span>
  );
}

interface FoldProps {
  summary: ReactNode;
  /** Given: whoever uses it decides, by `onToggle`. */
  open?: boolean | undefined;
  onToggle?: ((open: boolean) => void) | undefined;
  className?: string | undefined;
  children: ReactNode;
}

export function Fold({ summary, open, onToggle, className, children }: FoldProps) {
  return (
    <details
      className={className === undefined ? "fold" : `fold ${className}`}
      open={open}
      onToggle={(event) => {
        if (event.currentTarget.open !== open) onToggle?.(event.currentTarget.open);
      }}
    >
      <summary>
        <Icon name="go" small />
        {summary}
      </summary>
      {children}
    </details>
  );
}
