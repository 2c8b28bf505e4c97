// A small site with headings that are hard on purpose.
const part = 'read';
const excluded = ['**/_parts/**', '**/*.summary.md'];

module.exports = {
  title: 'Pumps',
  url: 'https://x.org',
  baseUrl: '/',
  trailingSlash: false,
  onBrokenLinks: 'ignore',
  presets: [
    ['classic', {docs: {exclude: excluded, routeBasePath: `the-${part}`}, blog: false, pages: false, sitemap: false}],
  ],
};
