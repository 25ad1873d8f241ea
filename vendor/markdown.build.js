/*
 * Bundles markdown-it once into static/vendor/markdown-it.js. The result is committed, so that neither running nor
 * testing the application needs Node. Run `make vendor` after changing a version in package.json.
 */
import { readFileSync } from "node:fs";
import { build } from "esbuild";

const root = new URL("..", import.meta.url).pathname;
const lock = JSON.parse(readFileSync(`${root}package-lock.json`, "utf8"));
const bundled = ["markdown-it", "entities", "linkify-it", "mdurl", "punycode.js", "uc.micro"].map(
  (name) => `${name} ${lock.packages[`node_modules/${name}`].version}`,
);

await build({
  absWorkingDir: root,
  entryPoints: ["vendor/markdown.entry.js"],
  outfile: "static/vendor/markdown-it.js",
  bundle: true,
  format: /** @type {const} */ ("esm"),
  target: "es2022",
  minify: true,
  legalComments: /** @type {const} */ ("none"),
  banner: {
    js: `/*!
 * markdown-it, bundled from vendor/markdown.entry.js by \`make vendor\`. Do not edit.
 * ${bundled.join(", ")}
 *
 * MIT License, entities BSD 2-Clause. The full texts stand in static/vendor/LICENSES.txt.
 */`,
  },
});
